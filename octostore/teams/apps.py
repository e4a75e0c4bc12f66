from django.apps import AppConfig


class TeamsConfig(AppConfig):
    name = "octostore.teams"
    label = "teams"
    verbose_name = "Teams"

from django.apps import AppConfig


class LeasesConfig(AppConfig):
    name = "octostore.leases"
    label = "leases"
    verbose_name = "Leases"

"""The addresses of elections; any valid id is a room, created or not."""

from __future__ import annotations

from django.urls import path

from elections import views

urlpatterns = [
    path("elections", views.ElectionsView.as_view(), name="elections"),
    path("elections/<str:election_id>", views.ElectionView.as_view(), name="election"),
    path("elections/<str:election_id>/campaign", views.CampaignView.as_view(), name="campaign"),
    path("elections/<str:election_id>/watch", views.WatchView.as_view(), name="watch"),
    path("elections/<str:election_id>/renew", views.RenewView.as_view(), name="renew"),
    path("elections/<str:election_id>/resign", views.ResignView.as_view(), name="resign"),
    path("elections/<str:election_id>/terms", views.TermsView.as_view(), name="terms"),
    path("elections/<str:election_id>/terms/<str:term>", views.TermView.as_view(), name="term"),
]

"""The addresses of webhooks."""

from __future__ import annotations

from django.urls import path

from webhooks import views

urlpatterns = [
    path("webhooks", views.WebhooksView.as_view(), name="webhooks"),
    path("webhooks/<str:webhook_id>", views.WebhookView.as_view(), name="webhook"),
    path("webhooks/<str:webhook_id>/rotate", views.RotateView.as_view(), name="rotate-webhook"),
    path("webhooks/<str:webhook_id>/test", views.TestView.as_view(), name="test-webhook"),
    path("webhooks/<str:webhook_id>/recover", views.RecoverView.as_view(), name="recover-webhook"),
    path("webhooks/<str:webhook_id>/deliveries", views.DeliveriesView.as_view(), name="deliveries"),
    path("webhooks/<str:webhook_id>/deliveries/<str:delivery_id>", views.DeliveryView.as_view(), name="delivery"),
    path(
        "webhooks/<str:webhook_id>/deliveries/<str:delivery_id>/redeliver",
        views.RedeliverView.as_view(),
        name="redeliver",
    ),
]

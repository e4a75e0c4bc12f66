"""The addresses of locks and sessions. A name may hold slashes, so its last part may be no verb."""

from __future__ import annotations

from django.urls import path

from locks import views

urlpatterns = [
    path("locks", views.LocksView.as_view(), name="locks"),
    path("locks/<path:name>/acquire", views.AcquireView.as_view(), name="acquire-lock"),
    path("locks/<path:name>/renew", views.RenewView.as_view(), name="renew-lock"),
    path("locks/<path:name>/release", views.ReleaseView.as_view(), name="release-lock"),
    path("locks/<path:name>/revoke", views.RevokeView.as_view(), name="revoke-lock"),
    path("locks/<path:name>/watch", views.WatchView.as_view(), name="watch-lock"),
    path("locks/<path:name>/history", views.HistoryView.as_view(), name="lock-history"),
    path("locks/<path:name>/acl", views.AclView.as_view(), name="lock-acl"),
    path("locks/<path:name>", views.LockView.as_view(), name="lock"),
    path("sessions", views.SessionsView.as_view(), name="sessions"),
    path("sessions/<str:session_id>", views.SessionView.as_view(), name="session"),
    path("sessions/<str:session_id>/keepalive", views.KeepaliveView.as_view(), name="keepalive"),
]

"""The addresses of locks and sessions. A name may hold slashes, so its last part may be no verb."""

from __future__ import annotations

from django.urls import path, register_converter
from django.urls.converters import StringConverter

from locks import views


class AnyText(StringConverter):
    """Slashes, line ends and nothing at all too: the name's own rule says what is wrong with it."""

    regex = r"[\s\S]*"


class NoSlashAtTheEnd(StringConverter):
    """With one it is no address, here as everywhere."""

    regex = r"[\s\S]*[^/]"


register_converter(AnyText, "any")
register_converter(NoSlashAtTheEnd, "bare")

urlpatterns = [
    path("locks", views.LocksView.as_view(), name="locks"),
    path("locks/<any:name>/acquire", views.AcquireView.as_view(), name="acquire-lock"),
    path("locks/<any:name>/renew", views.RenewView.as_view(), name="renew-lock"),
    path("locks/<any:name>/release", views.ReleaseView.as_view(), name="release-lock"),
    path("locks/<any:name>/revoke", views.RevokeView.as_view(), name="revoke-lock"),
    path("locks/<any:name>/watch", views.WatchView.as_view(), name="watch-lock"),
    path("locks/<any:name>/history", views.HistoryView.as_view(), name="lock-history"),
    path("locks/<any:name>/acl", views.AclView.as_view(), name="lock-acl"),
    path("locks/<bare:name>", views.LockView.as_view(), name="lock"),
    path("sessions", views.SessionsView.as_view(), name="sessions"),
    path("sessions/<str:session_id>", views.SessionView.as_view(), name="session"),
    path("sessions/<str:session_id>/keepalive", views.KeepaliveView.as_view(), name="keepalive"),
]

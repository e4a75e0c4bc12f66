"""What staff see of all teams, and the little they change: quotas, and who may sign in.

Leases have one door, the engine, so here they can only be looked at; so can whatever carries secrets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest
from django.urls import URLPattern, path

from octostore.api.request_id import request_id_of
from octostore.leases.models import Lease, LeaseEvent, LeaseGroup
from octostore.pages import wording
from octostore.pages.force_release import force_release
from octostore.teams import limits, services
from octostore.teams.audit import Act
from octostore.teams.models import ApiKey, AuditEntry, Invitation, Membership, Quota, Team, User

if TYPE_CHECKING:
    ModelAdmin = admin.ModelAdmin[Any]
    StackedInline = admin.StackedInline[Any, Any]
    ModelForm = forms.ModelForm[Any]
else:
    # At run time they take no parameters.
    ModelAdmin, StackedInline, ModelForm = admin.ModelAdmin, admin.StackedInline, forms.ModelForm


def instant(column: str) -> Any:
    """The column, which has milliseconds since 1970, as a field that people can read."""

    @admin.display(description=column.replace("_", " "), ordering=column)
    def shown(row: Model) -> str:
        at: int | None = getattr(row, column)
        return wording.utc_exactly(at) if at else "-"

    shown.__name__ = column
    return shown


AT, BEGAN_AT, EXPIRES_AT, ENDED_AT = map(instant, ("at", "began_at", "expires_at", "ended_at"))


class ReadOnly(ModelAdmin):
    """Shows the fields in `shown`, and changes nothing."""

    shown: tuple[Any, ...] = ()
    show_full_result_count = False

    def get_fields(self, request: HttpRequest, obj: Model | None = None) -> Any:
        return self.shown

    def get_list_display(self, request: HttpRequest) -> Any:
        return self.list_display if self.list_display != ("__str__",) else self.shown

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


class MembersInline(StackedInline):
    model = Membership
    fields = ("user", "role", "joined_at")
    readonly_fields = fields
    extra = 0
    can_delete = False

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


@admin.register(Team)
class TeamAdmin(ReadOnly):
    shown = ("slug", "uuid", "created_at")
    search_fields = ("slug", "uuid")
    inlines = (MembersInline,)


@admin.register(ApiKey)
class ApiKeyAdmin(ReadOnly):
    shown = (
        "visible",
        "team",
        "name",
        "scopes",
        "prefix",
        "created_by",
        "created_at",
        "expires_at",
        "last_used_at",
        "revoked_at",
    )
    list_select_related = ("team",)
    search_fields = ("visible", "name", "team__slug")


@admin.register(Invitation)
class InvitationAdmin(ReadOnly):
    shown = ("email", "team", "role", "invited_by", "created_at", "expires_at", "accepted_at", "withdrawn_at")
    list_select_related = ("team", "invited_by")
    search_fields = ("email", "team__slug")


@admin.register(AuditEntry)
class AuditEntryAdmin(ReadOnly):
    shown = ("at", "team", "actor", "action", "object", "reason", "before", "after", "request_id")
    list_display = ("at", "team", "actor", "action", "object", "reason")
    list_select_related = ("team",)
    search_fields = ("actor", "object", "request_id", "team__slug")
    ordering = ("-id",)


@admin.register(Lease)
class LeaseAdmin(ReadOnly):
    shown = (
        "space",
        "name",
        "term",
        "holder",
        "group_id",
        "charged_to",
        BEGAN_AT,
        EXPIRES_AT,
        ENDED_AT,
        "ending",
        "renewals",
    )
    list_display = ("space", "name", "term", "holder", EXPIRES_AT, ENDED_AT)
    search_fields = ("=name", "=space")
    ordering = ("-id",)
    change_form_template = "pages/lease_change.html"

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(force_release)
        return [path("<int:lease_id>/force-release/", view, name="force_release"), *super().get_urls()]


@admin.register(LeaseEvent)
class LeaseEventAdmin(ReadOnly):
    shown = ("lease", "n", "kind", "term", "holder", AT, "reason", "actor")
    list_select_related = ("lease",)
    ordering = ("-id",)


@admin.register(LeaseGroup)
class LeaseGroupAdmin(ReadOnly):
    shown = ("space", "charged_to", BEGAN_AT, EXPIRES_AT, ENDED_AT, "ending")
    ordering = ("-id",)


class QuotaForm(ModelForm):
    reason = forms.CharField(max_length=500, help_text="For the team's audit log.")

    class Meta:
        model = Quota
        fields = ("team", *limits.NAMES)
        help_texts = dict.fromkeys(limits.NAMES, "Empty: the service's own limit.")


@admin.register(Quota)
class QuotaAdmin(ModelAdmin):
    form = QuotaForm
    list_display = ("team", *limits.NAMES)
    list_select_related = ("team",)

    def get_readonly_fields(self, request: HttpRequest, obj: Quota | None = None) -> tuple[str, ...]:
        return ("team",) if obj else ()

    def save_model(self, request: HttpRequest, obj: Quota, form: ModelForm, change: bool) -> None:
        changes = {name: getattr(obj, name) for name in limits.NAMES if name in form.changed_data or not change}
        services.set_quota(team=obj.team, changes=changes, act=_act(request, form.cleaned_data["reason"]))

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


@admin.register(User)
class UserAdmin(ModelAdmin):
    fields = ("email", "is_active", "is_staff", "date_joined", "last_login")
    readonly_fields = ("email", "date_joined", "last_login")
    list_display = ("email", "is_active", "is_staff", "last_login")
    list_filter = ("is_staff", "is_active")
    search_fields = ("email",)

    def save_model(self, request: HttpRequest, obj: User, form: ModelForm, change: bool) -> None:
        before = {name: form.initial[name] for name in form.changed_data}
        after = {name: form.cleaned_data[name] for name in form.changed_data}
        super().save_model(request, obj, form, change)
        _act(request).record(None, "user_changed", f"user:{obj.email}", before=before, after=after)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


def _act(request: HttpRequest, reason: str = "") -> Act:
    assert isinstance(request.user, User)
    return Act(actor=f"staff:{request.user.email}", reason=reason, request_id=request_id_of(request))

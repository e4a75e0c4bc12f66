"""The database itself refuses to change or remove an audit entry, whoever asks."""

from django.db import migrations

POSTGRESQL = [
    """CREATE FUNCTION teams_audit_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN RAISE EXCEPTION 'an audit entry is never changed or removed'; END $$""",
    """CREATE TRIGGER teams_audit_is_append_only BEFORE UPDATE OR DELETE ON teams_auditentry
    FOR EACH ROW EXECUTE FUNCTION teams_audit_is_append_only()""",
]
POSTGRESQL_BACK = [
    "DROP TRIGGER teams_audit_is_append_only ON teams_auditentry",
    "DROP FUNCTION teams_audit_is_append_only()",
]
# Emptying the whole table stays possible: that is how SQLite truncates.
SQLITE = [
    """CREATE TRIGGER teams_audit_is_append_only BEFORE UPDATE ON teams_auditentry
    BEGIN SELECT RAISE(ABORT, 'an audit entry is never changed'); END""",
]
SQLITE_BACK = ["DROP TRIGGER teams_audit_is_append_only"]


def forward(apps, editor):
    _execute(editor, POSTGRESQL, SQLITE)


def back(apps, editor):
    _execute(editor, POSTGRESQL_BACK, SQLITE_BACK)


def _execute(editor, postgresql, sqlite):
    for statement in postgresql if editor.connection.vendor == "postgresql" else sqlite:
        editor.execute(statement)


class Migration(migrations.Migration):
    dependencies = [
        ("teams", "0001_initial"),
    ]

    operations = [
        migrations.RunPython(forward, back),
    ]

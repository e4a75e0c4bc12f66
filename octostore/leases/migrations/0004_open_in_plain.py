from django.db import migrations, models


class Migration(migrations.Migration):
    """What a quota counts becomes a plain column: a generated one is computed again by every renewal."""

    dependencies = [
        ("leases", "0003_quotas"),
    ]

    operations = [
        migrations.RemoveIndex(model_name="lease", name="lease_open"),
        migrations.RemoveField(model_name="lease", name="open_in"),
        migrations.AddField(model_name="lease", name="open_in", field=models.TextField(null=True)),
        migrations.RunSQL(
            "UPDATE leases_lease SET open_in = space WHERE counted AND ended_at IS NULL", migrations.RunSQL.noop
        ),
        migrations.RemoveField(model_name="lease", name="counted"),
        migrations.AddIndex(
            model_name="lease",
            index=models.Index(condition=models.Q(("open_in__isnull", False)), fields=["open_in"], name="lease_open"),
        ),
    ]

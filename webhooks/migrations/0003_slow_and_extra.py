from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("webhooks", "0002_telling_and_claims"),
    ]

    operations = [
        migrations.AddField(
            model_name="endpoint",
            name="is_slow",
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AddIndex(
            model_name="delivery",
            index=models.Index(
                condition=models.Q(("state", "pending")),
                fields=["endpoint", "trigger"],
                name="delivery_extra",
            ),
        ),
    ]

"""The one settings file. Everything that varies comes from the environment (`.env.example`)."""

from __future__ import annotations

import ssl
import sys
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured
from django.utils.functional import lazy

from octostore import __version__, addresses, backing, databases, env, logs, mail
from octostore.keyfile import ServerKeys

BASE_DIR = Path(__file__).resolve().parent.parent

# --- where it runs -----------------------------------------------------------------------------
HOST = env.text("HOST", "127.0.0.1", reads=addresses.host)
PORT = env.integer("PORT", 8000, low=0, high=65535)
# Where the background worker finds the web process, to measure it.
PROBE_URL = env.text("OCTOSTORE_PROBE_URL", "http://127.0.0.1:8000", reads=addresses.web_address)
DATA_DIR = env.directory("OCTOSTORE_DATA", str(BASE_DIR / "var"))
DATABASE_URL = env.secret("DATABASE_URL")
REDIS_URL = env.secret("REDIS_URL", reads=addresses.redis_address)
# For the pages, whose mails and forms speak of the host; no answer of the API does.
ALLOWED_HOSTS = env.listing("OCTOSTORE_ALLOWED_HOSTS", "*", reads=addresses.host_pattern)
DEBUG = False

# --- secrets -----------------------------------------------------------------------------------
SERVER_KEYS = ServerKeys(DATA_DIR)
SECRET_KEY = lazy(lambda: SERVER_KEYS[0].derive("django").hex(), str)()
# Whoever is signed in stays so when a new key is put in front.
SECRET_KEY_FALLBACKS = [key.derive("django").hex() for key in SERVER_KEYS.older]

# --- the limits of the contract ----------------------------------------------------------------
PUBLIC_ELECTIONS = env.flag("PUBLIC_ELECTIONS", True)
ELECTION_TTL_MIN_SECONDS = env.integer("OCTOSTORE_ELECTION_TTL_MIN_SECONDS", 5, low=1, high=86_400)
ELECTION_TTL_MAX_SECONDS = env.integer("OCTOSTORE_ELECTION_TTL_MAX_SECONDS", 300, low=1, high=86_400)
ELECTION_TTL_DEFAULT_SECONDS = env.integer("OCTOSTORE_ELECTION_TTL_DEFAULT_SECONDS", 30, low=1, high=86_400)
METADATA_MAX_CHARACTERS = env.integer("OCTOSTORE_METADATA_MAX_CHARACTERS", 1024, low=0, high=16_384)
RETRY_AFTER_MAX_SECONDS = env.integer("OCTOSTORE_RETRY_AFTER_MAX_SECONDS", 60, low=1, high=3600)
ELECTION_REQUESTS_PER_MINUTE = env.integer("OCTOSTORE_ELECTION_REQUESTS_PER_MINUTE", 600, low=1, high=10_000_000)
WRONG_KEYS_PER_MINUTE = env.integer("OCTOSTORE_WRONG_KEYS_PER_MINUTE", 60, low=1, high=10_000_000)
WRONG_CAPABILITIES_PER_MINUTE = env.integer("OCTOSTORE_WRONG_CAPABILITIES_PER_MINUTE", 60, low=1, high=10_000_000)
LED_ROOMS_MAX = env.integer("OCTOSTORE_LED_ROOMS_MAX", 10_000, low=0, high=100_000_000)
LED_ROOMS_MAX_PER_CLIENT = env.integer("OCTOSTORE_LED_ROOMS_MAX_PER_CLIENT", 100, low=0, high=100_000_000)
ROOM_IDLE_SECONDS = env.integer("OCTOSTORE_ROOM_IDLE_SECONDS", 86_400, low=86_400, high=315_360_000)
TERMS_KEPT = env.integer("OCTOSTORE_TERMS_KEPT", 200, low=1, high=200)
LOCK_TTL_MIN_SECONDS = env.integer("OCTOSTORE_LOCK_TTL_MIN_SECONDS", 1, low=1, high=86_400)
LOCK_TTL_MAX_SECONDS = env.integer("OCTOSTORE_LOCK_TTL_MAX_SECONDS", 3600, low=1, high=86_400)
LOCK_TTL_DEFAULT_SECONDS = env.integer("OCTOSTORE_LOCK_TTL_DEFAULT_SECONDS", 60, low=1, high=86_400)
LOCK_DELAY_MAX_SECONDS = env.integer("OCTOSTORE_LOCK_DELAY_MAX_SECONDS", 30, low=0, high=3600)
LOCK_IDLE_SECONDS = env.integer("OCTOSTORE_LOCK_IDLE_SECONDS", 2_592_000, low=86_400, high=315_360_000)
SESSION_TTL_MIN_SECONDS = env.integer("OCTOSTORE_SESSION_TTL_MIN_SECONDS", 10, low=1, high=86_400)
SESSION_TTL_MAX_SECONDS = env.integer("OCTOSTORE_SESSION_TTL_MAX_SECONDS", 300, low=1, high=86_400)
SESSION_TTL_DEFAULT_SECONDS = env.integer("OCTOSTORE_SESSION_TTL_DEFAULT_SECONDS", 60, low=1, high=86_400)
WAIT_MAX_SECONDS = env.integer("OCTOSTORE_WAIT_MAX_SECONDS", 60, low=0, high=3600)
WAITED_TTL_MAX_SECONDS = env.integer("OCTOSTORE_WAITED_TTL_MAX_SECONDS", 15, low=1, high=3600)
STREAMS_MAX = env.integer("OCTOSTORE_STREAMS_MAX", 1024, low=0, high=1_000_000)
STREAMS_MAX_PER_CLIENT = env.integer("OCTOSTORE_STREAMS_MAX_PER_CLIENT", 8, low=0, high=1_000_000)
STREAM_SECONDS = env.integer("OCTOSTORE_STREAM_SECONDS", 900, low=1, high=86_400)
TEAM_LOCKS_MAX = env.integer("OCTOSTORE_TEAM_LOCKS_MAX", 100, low=0, high=1_000_000)
TEAM_SESSIONS_MAX = env.integer("OCTOSTORE_TEAM_SESSIONS_MAX", 1000, low=0, high=1_000_000)
TEAM_STREAMS_MAX = env.integer("OCTOSTORE_TEAM_STREAMS_MAX", 100, low=0, high=1_000_000)
TEAM_WAITS_MAX = env.integer("OCTOSTORE_TEAM_WAITS_MAX", 100, low=0, high=1_000_000)
BODY_MAX_BYTES = env.integer("OCTOSTORE_BODY_MAX_BYTES", 65_536, low=1024, high=16_777_216)
BODY_TIMEOUT_SECONDS = env.integer("OCTOSTORE_BODY_TIMEOUT_SECONDS", 10, low=1, high=300)
HEADER_TIMEOUT_SECONDS = env.integer("OCTOSTORE_HEADER_TIMEOUT_SECONDS", 10, low=1, high=300)
HEADER_MAX_BYTES = env.integer("OCTOSTORE_HEADER_MAX_BYTES", 32_768, low=4096, high=1_048_576)
STORAGE_WAIT_SECONDS = env.integer("OCTOSTORE_STORAGE_WAIT_SECONDS", 5, low=1, high=60)

for _kind, _low, _default, _high in (
    ("ELECTION", ELECTION_TTL_MIN_SECONDS, ELECTION_TTL_DEFAULT_SECONDS, ELECTION_TTL_MAX_SECONDS),
    ("LOCK", LOCK_TTL_MIN_SECONDS, LOCK_TTL_DEFAULT_SECONDS, LOCK_TTL_MAX_SECONDS),
    ("SESSION", SESSION_TTL_MIN_SECONDS, SESSION_TTL_DEFAULT_SECONDS, SESSION_TTL_MAX_SECONDS),
):
    if not _low <= _default <= _high:
        raise ImproperlyConfigured(
            f"OCTOSTORE_{_kind}_TTL_DEFAULT_SECONDS is {_default}: it must not lie below"
            f" OCTOSTORE_{_kind}_TTL_MIN_SECONDS ({_low}), nor above OCTOSTORE_{_kind}_TTL_MAX_SECONDS ({_high})."
        )

# --- who is asking -----------------------------------------------------------------------------
TRUSTED_PROXY_HOPS = env.integer("OCTOSTORE_TRUSTED_PROXY_HOPS", 0, low=0, high=10)
METRICS_BEARER = env.secret("OCTOSTORE_METRICS_BEARER")
# Its libraries read it themselves, when they are first imported.
METRICS_DIRECTORY = env.shared_directory("PROMETHEUS_MULTIPROC_DIR")
METRICS_ADDRESSES = env.listing("OCTOSTORE_METRICS_ADDRESSES", "127.0.0.1,::1", reads=addresses.network)
CORS_ALLOWED_ORIGINS = env.listing("OCTOSTORE_CORS_ORIGINS", reads=addresses.origin)
CORS_ALLOW_HEADERS = ["accept", "authorization", "content-type", "idempotency-key", "last-event-id", "x-lease-id"]
CORS_EXPOSE_HEADERS = ["Retry-After", "X-Request-Id", "Idempotent-Replayed"]

# --- how it runs -------------------------------------------------------------------------------
WEB_THREADS = env.integer("OCTOSTORE_WEB_THREADS", 16, low=1, high=512)
KEEP_THREADS = env.integer("OCTOSTORE_KEEP_THREADS", 4, low=1, high=512)
LIVE_THREADS = env.integer("OCTOSTORE_LIVE_THREADS", 4, low=1, high=512)
LOG_LEVEL = env.choice("OCTOSTORE_LOG_LEVEL", "INFO", ("DEBUG", "INFO", "WARNING", "ERROR"))
LOGGING_CONFIG = None
logs.configure(LOG_LEVEL)

# --- people ------------------------------------------------------------------------------------
HTTPS = env.flag("HTTPS", False)
SIGNUP = env.choice("SIGNUP", "closed", ("closed", "open"))
STAFF_SECOND_FACTOR = HTTPS
GITHUB_CLIENT_ID = env.text("GITHUB_CLIENT_ID")
GITHUB_CLIENT_SECRET = env.secret("GITHUB_CLIENT_SECRET")
DEFAULT_FROM_EMAIL = SERVER_EMAIL = env.text("OCTOSTORE_EMAIL_FROM", "octostore@localhost", reads=addresses.sender)
globals().update(mail.settings_from(env.secret("EMAIL_URL") or "console:"))

if bool(GITHUB_CLIENT_ID) != bool(GITHUB_CLIENT_SECRET):
    raise ImproperlyConfigured("Set GITHUB_CLIENT_ID and GITHUB_CLIENT_SECRET, or neither.")

AUTH_USER_MODEL = "teams.User"
AUTHENTICATION_BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {
        "NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator",
        "OPTIONS": {"user_attributes": ("email",)},
    },
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "account_home"
# A browser takes a __Host- cookie only over HTTPS, for this host alone.
SESSION_COOKIE_NAME = "__Host-session" if HTTPS else "octostore_session"
CSRF_COOKIE_NAME = "__Host-csrf" if HTTPS else "octostore_csrf"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS
CSRF_COOKIE_HTTPONLY = True
CSRF_FAILURE_VIEW = "octostore.pages.errors.csrf_failure"
MESSAGE_STORAGE = "django.contrib.messages.storage.session.SessionStorage"

# What allauth mails is a code, never a link with a secret in it.
ACCOUNT_ADAPTER = "octostore.pages.adapters.AccountAdapter"
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_LOGIN_BY_CODE_ENABLED = True
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*", "password2*"]
ACCOUNT_EMAIL_VERIFICATION = "mandatory"
ACCOUNT_EMAIL_VERIFICATION_BY_CODE_ENABLED = True
ACCOUNT_PASSWORD_RESET_BY_CODE_ENABLED = True
ACCOUNT_REAUTHENTICATION_REQUIRED = True
ACCOUNT_EMAIL_SUBJECT_PREFIX = "[OctoStore] "
MFA_ADAPTER = "octostore.pages.adapters.SecondFactorAdapter"
MFA_SUPPORTED_TYPES = ["totp", "recovery_codes"]
MFA_TOTP_ISSUER = "OctoStore"
SOCIALACCOUNT_ADAPTER = "octostore.pages.adapters.GitHubAdapter"
# Browsers hold the redirect after a form to its page's form-action, so going to GitHub begins with a link.
SOCIALACCOUNT_LOGIN_ON_GET = True
SOCIALACCOUNT_PROVIDERS = {
    "github": {
        "SCOPE": ["user:email"],
        "APPS": [{"client_id": GITHUB_CLIENT_ID, "secret": GITHUB_CLIENT_SECRET}] if GITHUB_CLIENT_ID else [],
    }
}

INSTALLED_APPS = [
    "corsheaders",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "django.contrib.staticfiles",
    "django.contrib.contenttypes",
    "django.contrib.auth",
    "django.contrib.sessions",
    "django.contrib.messages",
    "allauth",
    "octostore.pages.apps.StaffConfig",
    "octostore.pages.apps.SignInConfig",
    "allauth.mfa",
    "allauth.socialaccount",
    "allauth.socialaccount.providers.github",
    "octostore.teams",
    "octostore.leases",
    "octostore.server",
    "octostore.api",
    "octostore.pages",
    "elections",
    "locks",
    "webhooks",
]
MIDDLEWARE = [
    "octostore.api.request_id.RequestIdMiddleware",
    "octostore.api.metrics.MetricsMiddleware",
    "octostore.api.cors.CorsMiddleware",
    "octostore.api.overload.OverloadMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "octostore.pages.middleware.PagesMiddleware",
]
if HTTPS:
    MIDDLEWARE.insert(0, "octostore.pages.headers.StrictTransportMiddleware")
# Around pages alone; the API needs none of it.
PAGES_MIDDLEWARE = [
    "octostore.pages.headers.PageHeadersMiddleware",
    "octostore.pages.errors.DomainErrorMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "allauth.account.middleware.AccountMiddleware",
]
# They look for these in MIDDLEWARE.
SILENCED_SYSTEM_CHECKS = ["admin.E408", "admin.E409", "admin.E410"]
ROOT_URLCONF = "octostore.urls"
APPEND_SLASH = False
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "octostore.pages.invitations.sign_up",
                "octostore.pages.display.display",
            ]
        },
    }
]
STATIC_URL = "/static/"
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = False
WHITENOISE_ALLOW_ALL_ORIGINS = False
USE_TZ = True
TIME_ZONE = "UTC"
USE_I18N = False
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# --- the database ------------------------------------------------------------------------------
DATABASES = {"default": databases.settings_from(DATABASE_URL, DATA_DIR, wait_seconds=STORAGE_WAIT_SECONDS)}

# --- the API -----------------------------------------------------------------------------------
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [],
    "DEFAULT_PERMISSION_CLASSES": [],
    "DEFAULT_PARSER_CLASSES": [],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "octostore.api.negotiation.JsonOnly",
    "DEFAULT_METADATA_CLASS": None,
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "octostore.api.errors.exception_handler",
    "UNAUTHENTICATED_USER": None,
    "UNAUTHENTICATED_TOKEN": None,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "OctoStore",
    "DESCRIPTION": (
        "The referee that fleets of workers ask before they act: leader election and locks over plain HTTP and JSON. "
        "Losing is not an error; clients act on `code` and on `retry_after_ms`, and 503 never means that nobody holds."
    ),
    "VERSION": __version__,
    "OAS_VERSION": "3.1.0",
    "CONTACT": {"name": "The maintainers of OctoStore"},
    "LICENSE": {"name": "MIT", "identifier": "MIT"},
    "SERVERS": [{"url": "/", "description": "The server this document came from"}],
    "TAGS": [
        {
            "name": "Elections",
            "description": "One leader for a room, without an account. The room's id is all there is.",
        },
        {
            "name": "Locks",
            "description": "One holder for a name of a team's own. Needs an API key, which sees its own team alone.",
        },
        {
            "name": "Sessions",
            "description": "One worker that holds many locks, alive as long as it says so.",
        },
        {"name": "Webhooks", "description": "Signed calls to a team's own systems when a lock changes hands."},
        {"name": "Teams", "description": "A team about itself, with one of its API keys."},
        {"name": "Service", "description": "The service itself: health, counters, and this document."},
    ],
    "POSTPROCESSING_HOOKS": ["octostore.api.schema.complete"],
    "ENABLE_DJANGO_DEPLOY_CHECK": False,
}

# --- background work ---------------------------------------------------------------------------
CELERY_BROKER_URL = REDIS_URL or "memory://"
if REDIS_URL.startswith("rediss://"):
    # Celery, unlike redis-py, would accept any certificate.
    CELERY_BROKER_USE_SSL = {"ssl_cert_reqs": ssl.CERT_REQUIRED}

# --- webhooks ----------------------------------------------------------------------------------
WEBHOOK_ALLOW_PRIVATE = env.flag("OCTOSTORE_WEBHOOK_ALLOW_PRIVATE", False)
OWN_SERVICES = backing.services(DATABASES["default"], REDIS_URL)
WEBHOOKS_MAX = env.integer("OCTOSTORE_WEBHOOKS_MAX", 10, low=0, high=1000)
WEBHOOK_THREADS = env.integer("OCTOSTORE_WEBHOOK_THREADS", 64, low=32, high=1024)
WEBHOOK_IN_FLIGHT_ENDPOINT = env.integer("OCTOSTORE_WEBHOOK_IN_FLIGHT_ENDPOINT", 8, low=1, high=1024)
WEBHOOK_IN_FLIGHT_TEAM = env.integer("OCTOSTORE_WEBHOOK_IN_FLIGHT_TEAM", 16, low=1, high=1024)
WEBHOOK_DELIVERIES_KEPT_SECONDS = env.integer(
    "OCTOSTORE_WEBHOOK_DELIVERIES_KEPT_SECONDS", 2_592_000, low=259_200, high=315_360_000
)

TESTING = "pytest" in sys.modules

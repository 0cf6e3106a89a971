# Settings for collecting and compressing only. Without a cache at hand, parts of pages would be left out silently.
SECRET_KEY = "not for serving"
ALLOWED_HOSTS = ["testserver"]
CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
SESSION_ENGINE = "django.contrib.sessions.backends.signed_cookies"

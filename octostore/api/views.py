"""What every JSON endpoint's view has: OPTIONS, HEAD where GET is, and no cache."""

from __future__ import annotations

from typing import Any, ClassVar

from django.http import HttpRequest, HttpResponse
from rest_framework.request import Request
from rest_framework.views import APIView


class JsonView(APIView):
    """DRF's view; HEAD comes with GET, preflights are answered before it."""

    allow: ClassVar[str]

    def __init_subclass__(cls) -> None:
        """What DRF's `allowed_methods` says of every instance, looked up once for each class."""
        super().__init_subclass__()
        defined = {name for name in cls.http_method_names if hasattr(cls, name)}
        if "get" in defined:
            defined.add("head")
        cls.allow = ", ".join(name.upper() for name in cls.http_method_names if name in defined)

    @property
    def default_response_headers(self) -> dict[str, str]:
        return {"Allow": self.allow}

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        """Nothing is kept by caches unless the answer says otherwise itself."""
        response.headers.setdefault("Cache-Control", "no-store")
        return super().finalize_response(request, response, *args, **kwargs)

    def options(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:  # type: ignore[override]
        """An OPTIONS request that is no preflight: 204, with `Allow`."""
        response = HttpResponse(status=204)
        del response["Content-Type"]
        return response

"""Settings of access: rights to read what a home publishes."""

from pydantic import model_validator

from raptor_core.settings.base import Part, setting


class AccessSettings(Part):
    """Rights to read what is published; docs/rights.md explains them."""

    required: bool = setting(False, is_common=True)
    """Refuse documents without readers, and calls that do not say for which readers they are."""
    keys: str = ""
    """TOML file of the keys that callers of a server send, each with its readers; relative to the
    home's folder.
    """
    jwt_issuer: str = ""
    """Issuer of the tokens (JWT) that callers of a server send; empty takes none."""
    jwt_audience: str = ""
    """Audience that a token must name."""
    jwt_keys: str = ""
    """Key set (JWKS) of the issuer: an https address, or a file relative to the home's folder."""
    jwt_claims: tuple[str, ...] = ("groups",)
    """Claims of a token with its readers, each a list of names or one name; "a.b" is b in a."""
    deciders: tuple[str, ...] = ()
    """Readers of whom each may record decisions on what it may read whole."""

    @property
    def identifies(self) -> bool:
        """Whether each caller of a server has to say who it is."""
        return bool(self.required or self.keys or self.jwt_issuer)

    @model_validator(mode="after")
    def _agree(self) -> "AccessSettings":
        if self.jwt_issuer and not (self.jwt_audience and self.jwt_keys):
            raise ValueError(
                "access.jwt_issuer needs access.jwt_audience, as a token for another service "
                "would pass, and access.jwt_keys, which verify it"
            )
        if self.jwt_keys.startswith("http://"):
            raise ValueError("access.jwt_keys: expected an https address or a file, got http")
        return self

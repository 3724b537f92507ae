"""Settings of access: who may read what a home publishes."""

from pydantic import model_validator

from raptor_core.settings.base import SettingsSection, setting


class AccessSettings(SettingsSection):
    """Who may read what is published; see docs/rights.md."""

    required: bool = setting(False, is_common=True)
    """Reject documents without readers, and calls that do not name the caller."""
    keys: str = ""
    """TOML file with the keys that callers of a server send, and the readers of each; relative to
    the home's folder.
    """
    jwt_issuer: str = ""
    """Issuer of the tokens (JWT) that callers of a server send; empty accepts no tokens."""
    jwt_audience: str = ""
    """Audience that a token must name."""
    jwt_keys: str = ""
    """Key set (JWKS) of the issuer: an https address, or a file relative to the home's folder."""
    jwt_claims: tuple[str, ...] = ("groups",)
    """Claims of a token that contain its readers, a name or a list; "a.b" is the claim b in a."""
    deciders: tuple[str, ...] = ()
    """Readers who may record decisions, on texts of which they may read every document."""

    @property
    def requires_caller(self) -> bool:
        """Whether every caller of a server must identify itself."""
        return bool(self.required or self.keys or self.jwt_issuer)

    @model_validator(mode="after")
    def _check_consistency(self) -> "AccessSettings":
        if self.jwt_issuer and not (self.jwt_audience and self.jwt_keys):
            raise ValueError(
                "access.jwt_issuer needs access.jwt_audience, else tokens for other services would "
                "be accepted, and access.jwt_keys, which verify them"
            )
        if self.jwt_keys.startswith("http://"):
            raise ValueError("access.jwt_keys: expected an https address or a file, got http")
        return self

"""The S3 server, one in a session."""

from support.session_servers import s3, s3_server

__all__ = ["s3", "s3_server"]

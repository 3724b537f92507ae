"""Commands by module; see ``LazyGroup``."""

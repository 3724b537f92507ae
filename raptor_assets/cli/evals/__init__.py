"""The commands, by module; see ``LazyGroup``."""

"""Large texts that leave the context and stay one call away: layer 2 of seed 001."""

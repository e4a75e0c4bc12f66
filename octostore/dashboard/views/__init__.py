"""One module a screen: parse, one call, render."""

"""`twinlode demo`: real text that pip brings, an encoder trained on some of it, and the rest mined and scored."""

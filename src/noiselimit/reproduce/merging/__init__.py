"""Results that were made elsewhere, added to those here."""

"""offsets-translate: consumer groups that move to the target continue there without skipping a record."""

"""Facts about program trees; nothing here changes one."""

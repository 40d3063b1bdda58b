-- Before every trial: no rows, ids from 1.
TRUNCATE users, redline_idempotency_keys RESTART IDENTITY;

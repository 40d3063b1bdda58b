-- Before every trial: no rows, ids from 1.
TRUNCATE users RESTART IDENTITY;

-- One statement in ten takes 40 ms and no CPU: now and then every connection is busy, though most of the time most are not.
-- The function is the session's own: when that ends, in whatever way, Postgres drops it and with it the trigger.
CREATE FUNCTION pg_temp.redline_fault() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF random() < 0.1 THEN
    PERFORM pg_sleep(0.04);
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER redline_fault BEFORE INSERT ON users FOR EACH STATEMENT EXECUTE FUNCTION pg_temp.redline_fault();

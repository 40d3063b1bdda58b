-- Each statement takes longer and no CPU, as if the database were far away: once per statement, as a round trip would.
-- The function is the session's own: when that ends, in whatever way, Postgres drops it and with it the trigger.
CREATE FUNCTION pg_temp.redline_delay() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_sleep(DELAY_S);
  RETURN NULL;
END $$;
CREATE TRIGGER redline_delay BEFORE INSERT ON users FOR EACH STATEMENT EXECUTE FUNCTION pg_temp.redline_delay();

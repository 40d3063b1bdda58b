-- A row costs Postgres about a millisecond of CPU, whatever the speed of its core: the loop is measured first.
-- The function is the session's own: when that ends, in whatever way, Postgres drops it and with it the trigger.
DO $$
DECLARE
  rounds CONSTANT integer := 500000;
  start timestamptz := clock_timestamp();
  spent_ms double precision;
BEGIN
  PERFORM sum(i) FROM generate_series(1, rounds) AS i;
  spent_ms := 1000 * extract(epoch FROM clock_timestamp() - start);
  EXECUTE format(
    'CREATE FUNCTION pg_temp.redline_fault() RETURNS trigger LANGUAGE plpgsql AS $f$
     BEGIN PERFORM sum(i) FROM generate_series(1, %s) AS i; RETURN NEW; END $f$', round(rounds / spent_ms));
END $$;
CREATE TRIGGER redline_fault BEFORE INSERT ON users FOR EACH ROW EXECUTE FUNCTION pg_temp.redline_fault();

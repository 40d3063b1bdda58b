-- One table, as the article has it. Running this again changes nothing.
CREATE TABLE IF NOT EXISTS users (
  id       serial PRIMARY KEY,
  email    varchar(255) NOT NULL,
  password varchar(255) NOT NULL
);

-- The mark by which the lab knows that it may empty this table.
COMMENT ON TABLE users IS 'redline: emptied before every trial';

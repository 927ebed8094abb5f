#!/bin/sh
# Makes Waymark's role and database when PostgreSQL starts for the first time. Row-level security binds no superuser.
set -eu
psql --set ON_ERROR_STOP=1 --set password="$POSTGRES_PASSWORD" --username postgres <<'SQL'
CREATE ROLE waymark LOGIN PASSWORD :'password';
CREATE DATABASE waymark OWNER waymark ENCODING 'UTF8' TEMPLATE template0;
SQL

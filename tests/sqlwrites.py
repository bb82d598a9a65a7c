"""SQLite statements that would write if they ran; each must be refused."""

WRITES = """
INSERT INTO state VALUES (1)
INSERT OR REPLACE INTO digest VALUES ('a', 'b')
REPLACE INTO digest VALUES ('a', 'b')
UPDATE state SET value = 0
UPDATE digest SET blake2b = ''
UPDATE sqlite_master SET sql = ''
UPDATE sqlite_schema SET sql = 'x' WHERE name = 'state'
DELETE FROM state
DELETE FROM sqlite_master
WITH x AS (SELECT 1) DELETE FROM edge
WITH x AS (SELECT 1) UPDATE edge SET move = 0
DROP TABLE state
DROP VIEW best_move
DROP INDEX ix_edge_child
ALTER TABLE state ADD COLUMN x
ALTER TABLE state RENAME TO x
ALTER TABLE state DROP COLUMN score
CREATE TABLE x (y)
CREATE TABLE IF NOT EXISTS state (y)
CREATE TEMP TABLE x (y)
CREATE TEMPORARY VIEW x AS SELECT 1
CREATE TABLE temp.x (y)
CREATE TABLE x AS SELECT 1
CREATE VIEW x AS SELECT 1
CREATE INDEX x ON state (ply)
CREATE TRIGGER x AFTER INSERT ON state BEGIN SELECT 1; END
CREATE TEMP TRIGGER x AFTER INSERT ON state BEGIN SELECT 1; END
CREATE VIRTUAL TABLE x USING fts5(y)
CREATE VIRTUAL TABLE temp.x USING rtree(a, b, c)
ATTACH 'new.db' AS new
ATTACH DATABASE 'file:new.db?mode=rwc' AS new
ATTACH ':memory:' AS new
DETACH main
VACUUM
VACUUM INTO 'new.db'
ANALYZE
ANALYZE state
REINDEX
BEGIN
BEGIN IMMEDIATE
BEGIN EXCLUSIVE
COMMIT
ROLLBACK
SAVEPOINT x
RELEASE x
PRAGMA query_only = OFF
PRAGMA QUERY_ONLY = 0
PRAGMA main.query_only(0)
PRAGMA writable_schema = ON
PRAGMA writable_schema = RESET
PRAGMA journal_mode = WAL
PRAGMA journal_mode
PRAGMA journal_size_limit = 1
PRAGMA user_version = 5
PRAGMA schema_version = 5
PRAGMA application_id = 5
PRAGMA auto_vacuum = 1
PRAGMA encoding = 'UTF-16'
PRAGMA foreign_keys = ON
PRAGMA ignore_check_constraints = ON
PRAGMA temp_store_directory = '.'
PRAGMA data_store_directory = '.'
PRAGMA temp_store = 1
PRAGMA optimize
PRAGMA wal_checkpoint
PRAGMA incremental_vacuum
PRAGMA locking_mode = EXCLUSIVE
PRAGMA mmap_size = 0
PRAGMA shrink_memory
PRAGMA trusted_schema = ON
PRAGMA hard_heap_limit = 1
PRAGMA lock_proxy_file = 'new'
PRAGMA key = 'x'
SELECT load_extension('x')
SELECT load_extension('./x.so', 'init')
SELECT writefile('new.db', 'x')
SELECT edit('x')
SELECT fts3_tokenizer('simple', x'00')
SELECT * FROM pragma_query_only(0)
SELECT * FROM pragma_journal_mode('wal')
SELECT * FROM pragma_user_version(5)
EXPLAIN DELETE FROM state
EXPLAIN QUERY PLAN UPDATE state SET value = 0
SELECT 1; DELETE FROM state
SELECT 1;; DROP TABLE state
; DELETE FROM state
/* SELECT */ DELETE FROM state
-- SELECT\x0bDELETE FROM state
INSERT INTO edge SELECT * FROM edge RETURNING *
UPDATE state SET value = 0 RETURNING value
.dump
.shell touch new.db
""".strip().split("\n")

CREATE TABLE a (x int);
CREATE TABLE b (x int);
CREATE TABLE c (x int);
CREATE VIEW v AS SELECT a.x FROM a JOIN b ON a.x = b.x;

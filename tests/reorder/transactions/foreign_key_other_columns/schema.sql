CREATE TABLE parent (id int PRIMARY KEY, x int);
CREATE TABLE child (id int, parent_id int REFERENCES parent (id));

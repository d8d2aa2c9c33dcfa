"""What SQL does: tables that it reads and changes, and what is not known; what a schema adds."""

from __future__ import annotations

import pytest

from vprof.transaction.schema import parse_schema
from vprof.transaction.sql import parse


@pytest.mark.parametrize(
    ("dialect", "text", "changes", "reads"),
    [
        ("postgres", "SELECT x FROM a WHERE y = $1 FOR UPDATE", set(), {"a"}),
        ("postgres", "SELECT x FROM a JOIN other.b USING (i) WHERE y IN (SELECT y FROM c)", set(), {"a", "b", "c"}),
        ("postgres", "UPDATE a SET x = b.x FROM b WHERE a.i = b.i", {"a"}, {"b"}),
        ("postgres", "INSERT INTO a (x) SELECT x FROM b", {"a"}, {"b"}),
        ("postgres", "INSERT INTO a VALUES (1) ON CONFLICT (i) DO UPDATE SET x = 2", {"a"}, set()),
        ("postgres", "DELETE FROM a USING b WHERE a.i = b.i", {"a"}, {"b"}),
        ("postgres", "WITH q AS (UPDATE a SET x = 1 RETURNING i) SELECT * FROM q JOIN b USING (i)", {"a"}, {"a", "b"}),
        ("postgres", "WITH a AS (SELECT x FROM a) SELECT x FROM a", set(), {"a"}),
        ("postgres", "WITH b AS (SELECT x FROM a), a AS (SELECT 1) SELECT x FROM a JOIN b", set(), {"a"}),
        ("mysql", "UPDATE a JOIN b ON a.i = b.i SET b.x = 1", {"a", "b"}, {"b"}),
        ("mysql", "DELETE a FROM a JOIN b ON a.i = b.i", {"a", "b"}, {"a", "b"}),
        ("mysql", "INSERT INTO a VALUES (?, NOW())", {"a"}, set()),
    ],
)
def test_the_tables_of_a_query(dialect: str, text: str, changes: set[str], reads: set[str]) -> None:
    query = parse(text, dialect)
    assert query.unknown is None
    assert {one.table for one in query.accesses if one.write} == changes
    assert {one.table for one in query.accesses if not one.write} == reads


@pytest.mark.parametrize(
    ("dialect", "text"),
    [
        ("postgres", "SELECT nextval('s')"),
        ("postgres", "SELECT x INTO b FROM a"),
        ("postgres", "UPDATE a SET x = 1; UPDATE b SET x = 1"),
        ("postgres", "TRUNCATE a"),
        ("postgres", "LOCK TABLE a"),
        ("postgres", "SAVEPOINT s"),
        ("postgres", "ROLLBACK TO s"),
        ("postgres", "SELECT * FROM"),
        ("postgres", ""),
        ("mysql", "SELECT @x := 3"),
        ("mysql", "REPLACE INTO a VALUES (1)"),
        ("mysql", "CALL pay(1)"),
    ],
)
def test_what_is_not_known(dialect: str, text: str) -> None:
    query = parse(text, dialect)
    assert query.unknown and query.control is None


@pytest.mark.parametrize(
    ("text", "control"),
    [
        ("BEGIN", "begin"),
        (" begin ;", "begin"),
        ("START TRANSACTION ISOLATION LEVEL SERIALIZABLE", "begin"),
        ("COMMIT", "commit"),
        ("END", "commit"),
        ("ROLLBACK", "rollback"),
        ("abort", "rollback"),
    ],
)
def test_what_begins_and_ends_a_transaction(text: str, control: str) -> None:
    assert parse(text, "postgres").control == control


def conflicts(schema: str, one: str, other: str, dialect: str = "postgres") -> bool:
    return bool(list(parse_schema(schema, dialect).conflicts(parse(one, dialect), parse(other, dialect))))


CHILD = "CREATE TABLE c (i int, p int, FOREIGN KEY (p) REFERENCES p (i) {action});"


def test_a_foreign_key_is_read_where_rows_name_others() -> None:
    schema = CHILD.format(action="")
    assert conflicts(schema, "DELETE FROM p", "INSERT INTO c VALUES (1, 2)")
    assert conflicts(schema, "UPDATE p SET i = 3", "UPDATE c SET p = 3")
    assert not conflicts(schema, "UPDATE p SET x = 3", "UPDATE c SET p = 3")
    assert not conflicts(schema, "UPDATE p SET i = 3", "UPDATE c SET i = 3")
    assert not conflicts(schema, "INSERT INTO p VALUES (1)", "SELECT i FROM c")


def test_what_cascades_changes_the_other_table() -> None:
    assert conflicts(CHILD.format(action="ON DELETE CASCADE"), "DELETE FROM p", "SELECT i FROM c")
    assert not conflicts(CHILD.format(action=""), "DELETE FROM p", "SELECT i FROM c")


def test_a_trigger_of_several_statements() -> None:
    schema = """CREATE TABLE a (x int);
    DELIMITER $$
    CREATE TRIGGER t AFTER UPDATE ON a FOR EACH ROW BEGIN
      INSERT INTO b VALUES (1);
      UPDATE c SET x = 1;
    END;
    DELIMITER ;
    CREATE VIEW v AS SELECT x FROM d;"""
    assert conflicts(schema, "UPDATE a SET x = 1", "SELECT x FROM b", "mysql")
    assert conflicts(schema, "UPDATE a SET x = 1", "SELECT x FROM c", "mysql")
    assert not conflicts(schema, "UPDATE a SET x = 1", "SELECT x FROM d", "mysql")
    assert not conflicts(schema, "INSERT INTO a VALUES (1)", "SELECT x FROM b", "mysql")
    assert conflicts(schema, "UPDATE d SET x = 1", "SELECT x FROM v", "mysql")


DUMP = r"""/*M!999999\- enable the sandbox mode */
-- Table structure for table `b`
CREATE TABLE `b` (
  `id` int(11) NOT NULL COMMENT 'it''s -- no comment; /* nor this',
  `y` int(11) DEFAULT NULL,
  CONSTRAINT `b_ibfk_1` FOREIGN KEY (`y`) REFERENCES `p` (`id`)
) ENGINE=InnoDB PAGE_COMPRESSED=1 PARTITION BY RANGE (`id`) (PARTITION `p0` VALUES LESS THAN (6) ENGINE = InnoDB);
/*!50003 SET sql_mode              = 'STRICT_TRANS_TABLES' */ ;
DELIMITER ;;
/*!50003 CREATE*/ /*!50017 DEFINER=`vprof`@`%`*/ /*!50003 TRIGGER followed AFTER UPDATE ON a FOR EACH ROW begin
  /* both */ update c set y = 1; # and
  update d set y = 1; end
*/;;
DELIMITER ;
/*!50001 CREATE VIEW `v` AS SELECT
 NULL AS `id` */;
/*!50001 CREATE ALGORITHM=UNDEFINED */
/*!50013 DEFINER=`vprof`@`%` SQL SECURITY DEFINER */
/*!50001 VIEW `v` AS select `e`.`id` AS `id` from `e` */;
"""


def test_what_a_dump_has_in_its_comments() -> None:
    """Views and triggers; and a foreign key of a table that sqlglot does not understand."""

    def meet(one: str, other: str) -> bool:
        return conflicts(DUMP, one, other, "mysql")

    assert meet("UPDATE a SET x = 1", "SELECT x FROM c") and meet("UPDATE a SET x = 1", "SELECT x FROM d")
    assert not meet("UPDATE a SET x = 1", "SELECT x FROM e")
    assert meet("SELECT id FROM v", "UPDATE e SET x = 1") and not meet("SELECT id FROM v", "UPDATE c SET x = 1")
    assert meet("INSERT INTO b VALUES (1, 2)", "DELETE FROM p")


@pytest.mark.parametrize(
    ("dialect", "query"),
    [
        ("mysql", "DELETE a FROM b JOIN a ON a.i = b.i"),
        ("mysql", "DELETE b, a FROM b JOIN a ON a.i = b.i"),
        ("postgres", "WITH gone AS (DELETE FROM a RETURNING i) SELECT i FROM gone"),
    ],
)
def test_a_trigger_of_a_row_that_another_query_deletes(dialect: str, query: str) -> None:
    schema = "CREATE TRIGGER t AFTER DELETE ON a FOR EACH ROW INSERT INTO c VALUES (1);"
    assert conflicts(schema, query, "SELECT x FROM c", dialect)


def test_a_view_that_calls_functions_may_do_anything() -> None:
    assert conflicts("CREATE VIEW v AS SELECT f(id) AS y FROM a", "SELECT y FROM v", "SELECT x FROM b", "mysql")
    assert not conflicts("CREATE VIEW v AS SELECT max(id) AS y FROM a", "SELECT y FROM v", "SELECT x FROM b", "mysql")


@pytest.mark.parametrize(
    "schema",
    [
        "CREATE TABLE part PARTITION OF whole FOR VALUES FROM (1) TO (9);",
        'CREATE TABLE part (i int);ALTER TABLE ONLY "public"."whole" ATTACH PARTITION public.part FOR VALUES IN (1);',
        "CREATE TABLE part (x int) INHERITS (other, whole);",
    ],
)
def test_a_part_of_a_table(schema: str) -> None:
    assert conflicts(schema, "UPDATE whole SET x = 1", "SELECT x FROM part")
    assert conflicts(schema, "SELECT x FROM whole", "UPDATE part SET x = 1")
    assert not conflicts(schema, "UPDATE whole SET x = 1", "SELECT x FROM b")


def test_a_rule_may_do_anything() -> None:
    schema = "CREATE RULE r AS ON UPDATE TO public.a DO ALSO UPDATE b SET x = 1;"
    assert conflicts(schema, "UPDATE a SET x = 1", "SELECT x FROM b")
    assert not conflicts(schema, "INSERT INTO a VALUES (1)", "SELECT x FROM b")

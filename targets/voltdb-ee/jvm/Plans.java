import java.util.Map;

/** What the front end of VoltDB would have compiled from SQL: a catalog and plans of statements. */
final class Plans {
    static final long FILL = 50;

    /** P and FILLED have rows of their site, EVERYWHERE the same at all. */
    static final String CATALOG =
        """
        add / clusters cluster
        set /clusters#cluster localepoch 1199145600
        set $PREV drProducerEnabled false
        set $PREV drFlushInterval 1
        set $PREV exportFlushInterval 1
        add /clusters#cluster databases database
        """
            + table("P", "K") + table("FILLED", "K") + table("EVERYWHERE", "");

    static final Map<Long, String> BY_FRAGMENT =
        Map.of(FILL, insert("FILLED"), 100L, insert("P"), 200L, scan("FILLED"), 300L, insert("EVERYWHERE"));

    private Plans() {}

    /** {@code by}: the column whose value says at which site a row is; "" if all have all. */
    private static String table(String name, String by) {
        String path = "/clusters#cluster/databases#database/tables#" + name;
        StringBuilder text = new StringBuilder("add /clusters#cluster/databases#database tables " + name + "\n");
        text.append("set " + path + " isreplicated " + by.isEmpty() + "\nset $PREV partitioncolumn ");
        text.append(by.isEmpty() ? "null\n" : path + "/columns#" + by + "\n");
        text.append("set $PREV estimatedtuplecount 0\nset $PREV materializer null\nset $PREV signature \"" + name);
        text.append("|ii\"\nset $PREV tuplelimit 2147483647\nset $PREV isDRed false\n");
        for (int column = 0; column < 2; column++) {
            String of = "KV".substring(column, column + 1);
            text.append("add " + path + " columns " + of + "\nset " + path + "/columns#" + of + " index " + column);
            text.append("\nset $PREV type 5\nset $PREV size 4\nset $PREV nullable false\nset $PREV name \"" + of);
            text.append("\"\nset $PREV defaultvalue null\nset $PREV defaulttype 0\nset $PREV matview null\n");
            text.append("set $PREV aggregatetype 0\nset $PREV matviewsource null\nset $PREV inbytes false\n");
        }
        return text.toString();
    }

    /** INSERT INTO table VALUES (?, ?) */
    private static String insert(String table) {
        return """
            {"EXECUTE_LIST": [2, 1], "PLAN_NODES": [
              {"ID": 1, "PLAN_NODE_TYPE": "INSERT", "CHILDREN_IDS": [2], "FIELD_MAP": [0, 1], "MULTI_PARTITION": false,
               "TARGET_TABLE_NAME": "%s"},
              {"ID": 2, "PLAN_NODE_TYPE": "MATERIALIZE", "BATCHED": false, "OUTPUT_SCHEMA": [
                {"COLUMN_NAME": "K", "EXPRESSION": {"PARAM_IDX": 0, "TYPE": 31, "VALUE_TYPE": 5}},
                {"COLUMN_NAME": "V", "EXPRESSION": {"PARAM_IDX": 1, "TYPE": 31, "VALUE_TYPE": 5}}]}]}
            """
            .formatted(table);
    }

    /** SELECT K FROM table WHERE V = ? */
    private static String scan(String table) {
        return """
            {"EXECUTE_LIST": [2, 1], "PLAN_NODES": [
              {"ID": 1, "PLAN_NODE_TYPE": "SEND", "CHILDREN_IDS": [2]},
              {"ID": 2, "PLAN_NODE_TYPE": "SEQSCAN", "TARGET_TABLE_NAME": "%1$s", "TARGET_TABLE_ALIAS": "%1$s",
               "INLINE_NODES": [{"ID": 3, "PLAN_NODE_TYPE": "PROJECTION", "OUTPUT_SCHEMA": [
                 {"COLUMN_NAME": "K", "EXPRESSION": {"COLUMN_IDX": 0, "TYPE": 32, "VALUE_TYPE": 5}}]}],
               "PREDICATE": {"TYPE": 10, "VALUE_TYPE": 23, "LEFT": {"COLUMN_IDX": 1, "TYPE": 32, "VALUE_TYPE": 5},
                             "RIGHT": {"PARAM_IDX": 0, "TYPE": 31, "VALUE_TYPE": 5}}}]}
            """
            .formatted(table);
    }
}

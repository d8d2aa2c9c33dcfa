package org.voltdb.jni;

/** What the engine logs. */
public final class EELoggers {
    private EELoggers() {}

    static void log(int logger, int level, String text) {
        System.err.println(text);
    }
}

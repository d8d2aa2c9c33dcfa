package org.voltdb.jni;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Map;

/**
 * One site's engine, by the names that libvoltdb looks for in a JVM. Of VoltDB's own class it has what Sites needs:
 * what the library may call but a batch of Sites does not need throws.
 *
 * <p>A site's thread makes its engine and alone uses it.
 */
public class ExecutionEngine {
    private static final int BYTES = 1 << 20;
    private static final int STATS = 1 << 12;
    private static final byte INTEGER = 5;
    private static final byte VARBINARY = 25;

    private final long engine;
    private final Map<Long, String> plans;
    private final ByteBuffer parameters = ByteBuffer.allocateDirect(BYTES);
    private final ByteBuffer stats = ByteBuffer.allocateDirect(STATS);
    private final ByteBuffer udf = ByteBuffer.allocateDirect(BYTES);
    private final ByteBuffer first = ByteBuffer.allocateDirect(BYTES);
    private final ByteBuffer next = ByteBuffer.allocateDirect(BYTES);
    private final ByteBuffer exception = ByteBuffer.allocateDirect(BYTES);

    /** The engine of site {@code partition}, of {@code sites} in this process; site 0 does the work for all. */
    public ExecutionEngine(int partition, int sites, Map<Long, String> plans) {
        this.plans = plans;
        engine = nativeCreate(false);
        byte[] host = "localhost".getBytes(StandardCharsets.UTF_8);
        succeeded(nativeInitialize(engine, 0, partition, partition, sites, 0, host, 0, BYTES, false, 0, false, 1 << 27,
            partition == 0, 95));
        succeeded(nativeSetBuffers(engine, parameters, BYTES, stats, STATS, udf, BYTES, first, BYTES, next, BYTES,
            exception, BYTES));
    }

    /** Returns when all sites load it: replicated tables are loaded once, by site 0. Any row may be at any site. */
    public void load(String catalog, int partition) {
        parameters.clear();
        parameters.putShort((short) 1).put(VARBINARY).putInt(3 * Integer.BYTES); // one range of hashes:
        parameters.putInt(1).putInt(Integer.MIN_VALUE).putInt(partition);
        nativeUpdateHashinator(engine, 0, 1);
        succeeded(nativeLoadCatalog(engine, 0, catalog.getBytes(StandardCharsets.UTF_8)));
    }

    /** Executes and commits {@code fragment} as one batch, once for each of {@code rows}, its parameters. */
    public void execute(long fragment, int[][] rows, long transaction, long uniqueId, long undo) {
        parameters.clear();
        long[] fragments = new long[rows.length];
        for (int row = 0; row < rows.length; row++) {
            fragments[row] = fragment;
            parameters.putShort((short) rows[row].length);
            for (int value : rows[row]) {
                parameters.put(INTEGER).putInt(value);
            }
        }
        succeeded(nativeExecutePlanFragments(engine, 0, rows.length, fragments, null, transaction, transaction,
            transaction - 1, uniqueId, undo, false));
        nativeReleaseUndoToken(engine, undo, false);
    }

    private void succeeded(int code) {
        if (code != 0) {
            byte[] said = new byte[400];
            exception.get(0, said);
            throw new IllegalStateException("the engine failed: " + new String(said, StandardCharsets.UTF_8).trim());
        }
    }

    // What the library calls.

    byte[] planForFragmentId(long fragment) {
        return plans.get(fragment).getBytes(StandardCharsets.UTF_8);
    }

    long fragmentProgressUpdate(int fragment, int node, long rows, long memory, long peak) {
        return Long.MAX_VALUE;
    }

    static void crashVoltDB(String reason, String[] traces, String file, int line) {
        System.err.println("the engine crashed: " + reason + " (" + file + ":" + line + ")");
        System.exit(1);
    }

    void fallbackToEEAllocatedBuffer(ByteBuffer buffer) {
        throw new UnsupportedOperationException("results of more than a MB");
    }

    void traceLog(boolean begin, String name, String arguments) {}

    void resizeUDFBuffer(int size) {
        throw new UnsupportedOperationException("functions of users");
    }

    byte[] nextDependencyAsBytes(int dependency) {
        return null;
    }

    int callJavaUserDefinedFunction() {
        return 1;
    }

    int callJavaUserDefinedAggregateStart(int function) {
        return 1;
    }

    int callJavaUserDefinedAggregateAssemble() {
        return 1;
    }

    int callJavaUserDefinedAggregateCombine() {
        return 1;
    }

    int callJavaUserDefinedAggregateWorkerEnd() {
        return 1;
    }

    int callJavaUserDefinedAggregateCoordinatorEnd() {
        return 1;
    }

    boolean storeLargeTempTableBlock(long site, long block, ByteBuffer buffer) {
        return false;
    }

    boolean loadLargeTempTableBlock(long site, long block, ByteBuffer buffer) {
        return false;
    }

    boolean releaseLargeTempTableBlock(long site, long block) {
        return false;
    }

    private native long nativeCreate(boolean sunJvm);

    private native int nativeInitialize(long engine, int cluster, long site, int partition, int sites, int host,
        byte[] hostName, int drCluster, int drBuffer, boolean drIgnoreConflicts, int drCrcErrors, boolean drCrcFatal,
        long tempMemory, boolean lowestSite, int compaction);

    private native int nativeSetBuffers(long engine, ByteBuffer parameters, int parametersSize, ByteBuffer stats,
        int statsSize, ByteBuffer udf, int udfSize, ByteBuffer first, int firstSize, ByteBuffer next, int nextSize,
        ByteBuffer exception, int exceptionSize);

    private native void nativeUpdateHashinator(long engine, long tokens, int count);

    private native int nativeLoadCatalog(long engine, long time, byte[] catalog);

    private native int nativeExecutePlanFragments(long engine, int batch, int count, long[] fragments,
        long[] dependencies, long transaction, long handle, long committedHandle, long uniqueId, long undo,
        boolean trace);

    private native boolean nativeReleaseUndoToken(long engine, long undo, boolean emptyDr);
}

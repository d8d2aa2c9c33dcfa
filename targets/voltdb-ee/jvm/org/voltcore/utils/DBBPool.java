package org.voltcore.utils;

import java.nio.ByteBuffer;

/** Containers of buffers, which the engine looks for when it is made. */
public final class DBBPool {
    private DBBPool() {}

    /** Of a buffer that is given back. */
    public static class BBContainer {}

    /** Of a buffer that the engine made. */
    public static class NDBBWrapperContainer extends BBContainer {
        public NDBBWrapperContainer(ByteBuffer buffer) {}
    }
}

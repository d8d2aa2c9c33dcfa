import java.io.IOException;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import org.voltdb.jni.ExecutionEngine;

/**
 * Sites of VoltDB's engine in one JVM, a thread each with a queue, and a front end that initiates transactions at
 * random times: inserts and scans at one site, inserts into a replicated table at all of them.
 *
 * <pre>java -cp CLASSES Sites LIBVOLTDB sites=2 seconds=20 rate=400 scans=0.7 multi=0.02 rows=20000 seed=1</pre>
 *
 * Prints for each kind of batch how many there were, how long they took, and how long they waited in the queue, by this
 * program's clock and by their unique ids, which know milliseconds only. With {@code rounds=N} there are N inserts at
 * all sites instead, where the sites come in a random order, {@code late} ms after each other; who comes last is
 * printed.
 */
public final class Sites {
    private static final long EPOCH_MS = 1_199_145_600_000L;
    private static final long INSERT = 100;
    private static final long SCAN = 200;
    private static final long EVERYWHERE = 300;
    private static final Task STOP = new Task(0, 0, 0, Instant.EPOCH, 0);

    /** A batch for a site. {@code delay}: ms before it is executed. */
    private record Task(long fragment, long transaction, long uniqueId, Instant due, int delay) {}

    /** A batch at a site: ms in the queue, by the due time and by the unique id's, and ms of execution. */
    private record Done(long fragment, double queue, double queueById, double took) {}

    private final Map<String, Double> options;
    private final int count;
    private final Random random;
    private final List<LinkedBlockingQueue<Task>> queues = new ArrayList<>();
    private final List<List<Done>> done = new ArrayList<>();
    private final long[] threads;
    private final CountDownLatch ready;
    private long transaction = 1;

    private Sites(Map<String, Double> options) {
        this.options = options;
        count = (int) option("sites", 2);
        random = new Random((long) option("seed", 1));
        threads = new long[count];
        ready = new CountDownLatch(count);
    }

    private double option(String name, double otherwise) {
        return options.getOrDefault(name, otherwise);
    }

    public static void main(String[] arguments) throws Exception {
        Map<String, Double> options = new HashMap<>();
        for (int at = 1; at < arguments.length; at++) {
            String[] parts = arguments[at].split("=");
            options.put(parts[0], Double.parseDouble(parts[1]));
        }
        System.load(Path.of(arguments[0]).toAbsolutePath().toString());
        new Sites(options).run();
    }

    private void run() throws InterruptedException {
        List<Thread> sites = new ArrayList<>();
        for (int site = 0; site < count; site++) {
            queues.add(new LinkedBlockingQueue<>());
            done.add(new ArrayList<>());
            int partition = site;
            sites.add(new Thread(() -> serve(partition), "site " + site));
        }
        for (Thread site : sites) {
            site.start();
        }
        ready.await();
        if (options.containsKey("rounds")) {
            rounds((int) option("rounds", 1));
        } else {
            load();
        }
        for (LinkedBlockingQueue<Task> queue : queues) {
            queue.put(STOP);
        }
        for (Thread site : sites) {
            site.join();
        }
        report();
        System.exit(0); // the engines stay: their order of destruction is VoltDB's
    }

    /** At random times until the seconds are over, as an open loop. */
    private void load() throws InterruptedException {
        double rate = option("rate", 400);
        Instant due = Instant.now();
        Instant end = due.plusNanos((long) (option("seconds", 20) * 1e9));
        while (due.isBefore(end)) {
            due = due.plusNanos((long) (-Math.log(1 - random.nextDouble()) / rate * 1e9));
            sleepUntil(due);
            double kind = random.nextDouble();
            if (kind < option("multi", 0.02)) {
                everywhere(due, new int[count]);
            } else {
                long fragment = kind < option("multi", 0.02) + option("scans", 0.7) ? SCAN : INSERT;
                int site = random.nextInt(count);
                queues.get(site).put(new Task(fragment, ++transaction, uniqueId(due, site), due, 0));
            }
        }
    }

    /** After one in which the sites read the plan. */
    private void rounds(int rounds) throws InterruptedException {
        everywhere(Instant.now(), new int[count]);
        Thread.sleep(200);
        for (int round = 0; round < rounds; round++) {
            List<Integer> order = new ArrayList<>();
            for (int site = 0; site < count; site++) {
                order.add(random.nextInt(order.size() + 1), site);
            }
            int[] delays = new int[count];
            for (int place = 0; place < count; place++) {
                delays[order.get(place)] = place * (int) option("late", 4);
            }
            everywhere(Instant.now(), delays);
            int last = order.get(count - 1);
            System.out.printf("round %d transaction %d last %d", round, transaction, threads[last]);
            System.out.printf(" lowest %d%n", threads[0]);
            Thread.sleep((long) option("late", 4) * count + 6);
        }
    }

    private void everywhere(Instant due, int[] delays) throws InterruptedException {
        transaction++;
        for (int site = 0; site < count; site++) {
            queues.get(site).put(new Task(EVERYWHERE, transaction, uniqueId(due, 16383), due, delays[site]));
        }
    }

    /** 40 bits of ms, 9 of a counter, 14 of who initiated it. */
    private long uniqueId(Instant due, int initiator) {
        return (due.toEpochMilli() - EPOCH_MS) << 23 | (transaction & 511) << 14 | initiator;
    }

    private static void sleepUntil(Instant due) throws InterruptedException {
        long left = micros(due) - micros(Instant.now());
        if (left > 0) {
            Thread.sleep(left / 1000, (int) (left % 1000) * 1000);
        }
    }

    private static long micros(Instant time) {
        return time.getEpochSecond() * 1_000_000 + time.getNano() / 1000;
    }

    /** A site's thread. */
    private void serve(int partition) {
        try {
            threads[partition] = Long.parseLong(Path.of("/proc/thread-self").toRealPath().getFileName().toString());
            ExecutionEngine engine = new ExecutionEngine(partition, count, Plans.BY_FRAGMENT);
            engine.load(Plans.CATALOG, partition);
            int[][] batch = new int[500][];
            long undo = 0;
            for (int row = 0; row < option("rows", 20_000); row += batch.length) {
                for (int at = 0; at < batch.length; at++) {
                    batch[at] = new int[] {row + at, partition};
                }
                engine.execute(Plans.FILL, batch, 1, uniqueId(Instant.now(), partition), ++undo);
            }
            ready.countDown();
            for (Task task = queues.get(partition).take(); task != STOP; task = queues.get(partition).take()) {
                Thread.sleep(task.delay);
                long taken = micros(Instant.now());
                int[][] row = {{(int) task.transaction, -1}};
                if (task.fragment == SCAN) {
                    row[0] = new int[] {-1};
                }
                engine.execute(task.fragment, row, task.transaction, task.uniqueId, ++undo);
                double took = (micros(Instant.now()) - taken) / 1e3;
                double late = (taken - micros(task.due)) / 1e3;
                double lateById = (taken - ((task.uniqueId >> 23) + EPOCH_MS) * 1000) / 1e3;
                done.get(partition).add(new Done(task.fragment, late, lateById, took));
            }
        } catch (IOException | InterruptedException | RuntimeException error) {
            error.printStackTrace();
            System.exit(1);
        }
    }

    private void report() {
        Map<Long, List<Done>> kinds = new TreeMap<>();
        for (List<Done> site : done) {
            for (Done one : site) {
                kinds.computeIfAbsent(one.fragment, fragment -> new ArrayList<>()).add(one);
                kinds.computeIfAbsent(0L, all -> new ArrayList<>()).add(one);
            }
        }
        System.out.println("fragment   count  queue ms  by id ms  took ms   variance");
        for (Map.Entry<Long, List<Done>> kind : kinds.entrySet()) {
            List<Done> all = kind.getValue();
            double queue = all.stream().mapToDouble(Done::queue).average().orElse(0);
            double byId = all.stream().mapToDouble(Done::queueById).average().orElse(0);
            double took = all.stream().mapToDouble(Done::took).average().orElse(0);
            double mean = queue + took;
            double variance =
                all.stream().mapToDouble(one -> Math.pow(one.queue + one.took - mean, 2)).average().orElse(0);
            String name = kind.getKey() == 0 ? "all" : kind.getKey().toString();
            System.out.printf("%-8s %7d %9.3f %9.3f %8.3f %10.3f%n", name, all.size(), queue, byId, took, variance);
        }
    }
}

// Calls plug() of the library `planted` so many times.
public class Main {
    static native long plug(long x);

    public static void main(String[] arguments) throws InterruptedException {
        System.loadLibrary("planted");
        long sum = 0;
        for (int k = 0; k < Integer.parseInt(arguments[0]); ++k) {
            sum += plug(k);
            Thread.sleep(0, 300_000);
        }
        System.out.println(sum);
    }
}

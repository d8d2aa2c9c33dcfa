/* The native half of Main.java. */
#include <jni.h>

#include "planted.h"

JNIEXPORT jlong JNICALL Java_Main_plug(JNIEnv *env, jclass class, jlong x) {
  (void)env;
  (void)class;
  return plug(x);
}

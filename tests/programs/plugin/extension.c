/* A module of Python's: extension.plug(x). */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "planted.h"

static PyObject *call_plug(PyObject *module, PyObject *argument) {
  (void)module;
  const long x = PyLong_AsLong(argument);
  return PyErr_Occurred() ? NULL : PyLong_FromLong(plug(x));
}

static PyMethodDef methods[] = {{"plug", call_plug, METH_O, "One request."}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "extension", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_extension(void) {
  return PyModule_Create(&definition);
}

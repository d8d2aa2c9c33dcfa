"use strict";
// Puts the sections of a load together: latencies, types, pauses, what ran.

theme();
loadCharts();
typeTable();
outcomeTable();
pauseTable();
floorTable();
ranTable();
sectionLinks();

/* The style sheet and the script of a report, line by line, each ended by NULL. The lines come from style.css and script.js. */
#ifndef ORRERY_ANALYSIS_REPORT_ASSETS_H
#define ORRERY_ANALYSIS_REPORT_ASSETS_H

extern const char *const report_style[], *const report_script[];

#endif

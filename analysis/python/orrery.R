# Results of Orrery as data frames in R: source("orrery.R"), then frames("results.db")[["request"]].
#
# Tables and views have the names that orrery.py, `orrery export --list` and analysis/sql have. It needs the packages
# DBI and RSQLite, and computes nothing itself.

# The folder of the views: analysis/sql beside this file's folder, else below $ORRERY_DATA or the current folder.
# `file` is this file's path, as source() knows it.
orrery_views <- function(file = orrery_file) {
  beside <- file.path(dirname(dirname(file)), "sql")
  data <- Sys.getenv("ORRERY_DATA", ".")
  if (dir.exists(beside)) beside else file.path(data, "analysis", "sql")
}

orrery_file <- local({
  sourced <- Filter(Negate(is.null), lapply(sys.frames(), function(frame) frame$ofile))
  if (length(sourced) > 0) normalizePath(sourced[[length(sourced)]]) else "analysis/python/orrery.R"
})

# The tables and views of a results database, or of one run: f[["request"]] is a data frame, names(f) are all names.
# `database` is a path, "results.db" or "results.db:3" for its run 3.
frames <- function(database, run_id = NULL) {
  run <- regmatches(database, regexec("^(.+):([0-9]+)$", database))[[1]]
  if (length(run) == 3 && !file.exists(database)) {
    database <- run[2]
    run_id <- as.integer(run[3])
  }
  if (!file.exists(database)) stop(database, ": no such file", call. = FALSE)
  connection <- DBI::dbConnect(RSQLite::SQLite(), database, flags = RSQLite::SQLITE_RO)
  runs <- DBI::dbGetQuery(connection, "SELECT id FROM run")$id
  if (!is.null(run_id) && !run_id %in% runs) {
    DBI::dbDisconnect(connection)
    stop(database, ": there is no run ", run_id, "; it has ", paste(runs, collapse = ", "), call. = FALSE)
  }
  views <- Sys.glob(file.path(orrery_views(), "*.sql"))
  for (view in views) DBI::dbExecute(connection, paste(readLines(view, encoding = "UTF-8"), collapse = "\n"))
  tables <- DBI::dbGetQuery(connection, paste(
    "SELECT name FROM sqlite_schema WHERE type = 'table'",
    "AND name NOT LIKE 'sqlite~_%' ESCAPE '~' ORDER BY name"))$name
  structure(list(connection = connection, run_id = run_id,
                 names = c(tables, sub("[.]sql$", "", basename(views)))), class = "orrery_frames")
}

names.orrery_frames <- function(x) unclass(x)$names

`[[.orrery_frames` <- function(x, name) {
  of <- unclass(x)
  absent <- if (dir.exists(orrery_views())) "" else "; for views, set ORRERY_DATA to the directory that holds 'analysis'"
  if (!name %in% of$names)
    stop("no table or view '", name, "'; there are ", paste(of$names, collapse = ", "), absent, call. = FALSE)
  columns <- names(DBI::dbGetQuery(of$connection, sprintf("SELECT * FROM \"%s\" LIMIT 0", name)))
  key <- if (name == "run") "id" else "run_id"
  where <- if (!is.null(of$run_id) && key %in% columns) sprintf(" WHERE %s = %d", key, of$run_id) else ""
  DBI::dbGetQuery(of$connection, sprintf("SELECT * FROM \"%s\"%s", name, where))
}

`$.orrery_frames` <- function(x, name) x[[name]]

print.orrery_frames <- function(x, ...) {
  cat("Frames:", paste(names(x), collapse = ", "), "\n")
  invisible(x)
}

close.orrery_frames <- function(con, ...) invisible(DBI::dbDisconnect(unclass(con)$connection))

#include "sim/core/json_write.h"

enum { INDENT = 2 };

void json_writer_init(struct json_writer *writer, struct text *text)
{
    *writer = (struct json_writer){.text = text, .is_empty = true};
}

static void break_line(struct json_writer *writer)
{
    text_printf(writer->text, "\n%*s", writer->depth * INDENT, "");
}

void json_write_key(struct json_writer *writer, const char *key)
{
    if (!writer->is_empty) text_add(writer->text, writer->row_depth > 0 ? ", " : ",");
    if (writer->row_depth == 0 && writer->depth > 0) break_line(writer);
    writer->is_empty = false;
    if (key == NULL) return;
    text_json_string(writer->text, key);
    text_add(writer->text, ": ");
}

void json_write_open(struct json_writer *writer, const char *key, char bracket)
{
    json_write_key(writer, key);
    text_add_bytes(writer->text, &bracket, 1);
    writer->depth++;
    writer->is_empty = true;
}

void json_write_open_row(struct json_writer *writer, const char *key, char bracket)
{
    json_write_open(writer, key, bracket);
    if (writer->row_depth == 0) writer->row_depth = writer->depth;
}

void json_write_close(struct json_writer *writer, char bracket)
{
    writer->depth--;
    if (!writer->is_empty && writer->row_depth == 0) break_line(writer);
    if (writer->row_depth > writer->depth) writer->row_depth = 0;
    text_add_bytes(writer->text, &bracket, 1);
    writer->is_empty = false;
}

void json_write_string(struct json_writer *writer, const char *key, const char *value)
{
    json_write_key(writer, key);
    text_json_string(writer->text, value);
}

void json_write_number(struct json_writer *writer, const char *key, double value)
{
    json_write_key(writer, key);
    text_json_number(writer->text, value);
}

void json_write_bool(struct json_writer *writer, const char *key, bool value)
{
    json_write_key(writer, key);
    text_add(writer->text, value ? "true" : "false");
}

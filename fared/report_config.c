/* SPDX-License-Identifier: BSD-2-Clause */
/* report_config.c - see report.h: the configuration in force, key by key */
#include "config_list.h"
#include "report.h"

#define PAGE_ROWS 64u /* as in report.c */

static json_t *row(const struct config_entry *e)
{
	return json_pack("{s:s, s:s, s:s}", "key", e->key, "value", e->value, "reload",
			 config_effect_name(e->effect));
}

json_t *report_config(const struct report *r, const struct control_request *request)
{
	uint32_t limit = request->limit < PAGE_ROWS ? request->limit : PAGE_ROWS;
	uint64_t i = request->cursor;
	struct config_list *list;
	json_t *rows, *reply;

	if (config_list_create(&list, r->config))
		return NULL;
	rows = json_array();
	for (; i < list->n && json_array_size(rows) < limit; i++)
		json_array_append_new(rows, row(&list->entries[i]));
	reply = json_pack("{s:b, s:o, s:o}", "ok", 1, "config", rows, "next_cursor",
			  i < list->n ? json_integer((json_int_t)i) : json_null());
	config_list_destroy(list);
	return reply;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* report_config.c - see report.h: the configuration in force, key by key */
#include "config_list.h"
#include "report.h"

static json_t *row(const struct config_entry *e)
{
	return json_pack("{s:s, s:s, s:s}", "key", e->key, "value", e->value, "reload",
			 config_effect_name(e->effect));
}

json_t *report_config(const struct report *r, const struct control_request *request)
{
	uint64_t i = request->cursor;
	struct config_list *list;
	json_t *rows, *reply;

	if (config_list_create(&list, r->config))
		return NULL;
	rows = json_array();
	for (; i < list->n && json_array_size(rows) < report_page_rows(request); i++)
		json_array_append_new(rows, row(&list->entries[i]));
	reply = report_page("config", rows, i < list->n, i);
	config_list_destroy(list);
	json_object_set_new(reply, "trial", r->trial ? json_string(r->trial) : json_null());
	return reply;
}

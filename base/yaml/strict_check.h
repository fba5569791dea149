/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strict_check.h - a libyaml document against a libcyaml schema.
 *
 * Owns nothing. In: a document and a schema. Out: the first thing that is wrong, with its line and
 * key. Pure. Thread: any. Part of strict_yaml.h, which says what is checked.
 */
#ifndef STRICT_CHECK_H
#define STRICT_CHECK_H

#include <yaml.h>

#include "base/yaml/strict_yaml.h"

struct strict_check_finding {
	unsigned line;
	char key[128];	/* "local_gpus[0].name"; "": the top level */
	char text[360]; /* what is wrong, and what is expected */
};

/* 0; -EBADMSG with *found filled in. The document has a root. */
int strict_check(const yaml_document_t *document, const struct strict_yaml_schema *schema,
		 struct strict_check_finding *found);

/* The node at an index of libyaml's (from 1); NULL: there is none. */
const yaml_node_t *strict_check_node(const yaml_document_t *document, int index);
/* The value of a key of a mapping, and the key's node; NULL: the node is no mapping, or has no such
 * key. */
const yaml_node_t *strict_check_member(const yaml_document_t *document, const yaml_node_t *mapping,
				       const char *key, size_t length,
				       const yaml_node_t **key_node);

#endif

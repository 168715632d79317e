/* SPDX-License-Identifier: MIT */
/* docs/description.schema.json fits what is written, and refuses what the reader refuses. The validator below knows the
 * words that the schema uses, and fails on any other, so that the schema cannot say more than is checked. */
#include "facts/facts.h"

#include <regex.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const json_t *root;
static char why[256];

static bool valid(const json_t *schema, const json_t *value);

static bool complain(const char *what, const char *detail)
{
	snprintf(why, sizeof why, "%s: %.200s", what, detail);
	return false;
}

static bool is_type(const char *type, const json_t *value)
{
	return (!strcmp(type, "object") && json_is_object(value)) || (!strcmp(type, "array") && json_is_array(value)) ||
	       (!strcmp(type, "string") && json_is_string(value)) ||
	       (!strcmp(type, "number") && json_is_number(value)) ||
	       (!strcmp(type, "integer") && json_is_integer(value)) ||
	       (!strcmp(type, "boolean") && json_is_boolean(value)) || (!strcmp(type, "null") && json_is_null(value));
}

static bool has_type(const json_t *types, const json_t *value)
{
	if (json_is_string(types))
		return is_type(json_string_value(types), value);
	for (size_t i = 0; i < json_array_size(types); i++)
		if (is_type(json_string_value(json_array_get(types, i)), value))
			return true;
	return false;
}

static bool matches(const char *pattern, const char *text)
{
	regex_t regex;
	assert_int_equal(regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB), 0);
	bool ok = !regexec(&regex, text, 0, NULL, 0);
	regfree(&regex);
	return ok;
}

static bool valid_object(const json_t *schema, json_t *value)
{
	const json_t *properties = json_object_get(schema, "properties"),
		     *required = json_object_get(schema, "required");
	const json_t *others = json_object_get(schema, "additionalProperties"),
		     *names = json_object_get(schema, "propertyNames");
	const char *key;
	json_t *one;
	for (size_t i = 0; i < json_array_size(required); i++)
		if (!json_object_get(value, json_string_value(json_array_get(required, i))))
			return complain("missing", json_string_value(json_array_get(required, i)));
	json_object_foreach(value, key, one)
	{
		const json_t *rule = json_object_get(properties, key);
		json_t *name = json_string(key);
		bool named = !names || valid(names, name);
		json_decref(name);
		if (!named || !valid(rule ? rule : others, one))
			return false;
	}
	return true;
}

static const json_t *follow(const json_t *schema)
{
	const char *ref = json_string_value(json_object_get(schema, "$ref"));
	if (!ref)
		return schema;
	assert_true(!strncmp(ref, "#/$defs/", 8));
	const json_t *found = json_object_get(json_object_get(root, "$defs"), ref + 8);
	assert_non_null(found);
	return found;
}

static void know_every_word(const json_t *schema)
{
	static const char *const words[] = {"$schema",       "$defs",       "$ref",
	                                    "title",         "description", "type",
	                                    "required",      "properties",  "additionalProperties",
	                                    "propertyNames", "items",       "const",
	                                    "enum",          "minimum",     "maximum",
	                                    "pattern",       "if",          "then"};
	const char *key;
	json_t *one;
	json_object_foreach((json_t *)(uintptr_t)schema, key, one)
	{
		bool known = false;
		for (size_t i = 0; i < sizeof words / sizeof *words; i++)
			known |= !strcmp(words[i], key);
		if (!known)
			fail_msg("the validator does not know \"%s\"", key);
	}
}

static bool valid(const json_t *schema, const json_t *value)
{
	if (!schema)
		return true;
	schema = follow(schema);
	know_every_word(schema);
	const json_t *type = json_object_get(schema, "type"), *same = json_object_get(schema, "const");
	const json_t *list = json_object_get(schema, "enum"), *least = json_object_get(schema, "minimum");
	const json_t *most = json_object_get(schema, "maximum"), *pattern = json_object_get(schema, "pattern");
	if (type && !has_type(type, value))
		return complain("type", json_is_string(type) ? json_string_value(type) : "list");
	if (same && !json_equal(same, value))
		return complain("const", "differs");
	bool among = !list;
	for (size_t i = 0; i < json_array_size(list); i++)
		among |= json_equal(json_array_get(list, i), value);
	if (!among)
		return complain("enum", "none of them");
	if ((least && json_number_value(value) < json_number_value(least)) ||
	    (most && json_number_value(value) > json_number_value(most)))
		return complain("range", "outside");
	if (pattern && !matches(json_string_value(pattern), json_string_value(value)))
		return complain("pattern", json_string_value(value));
	if (json_is_object(value) && !valid_object(schema, (json_t *)(uintptr_t)value))
		return false;
	for (size_t i = 0; json_is_array(value) && i < json_array_size(value); i++)
		if (!valid(json_object_get(schema, "items"), json_array_get(value, i)))
			return false;
	return !json_object_get(schema, "if") || !valid(json_object_get(schema, "if"), value) ||
	       valid(json_object_get(schema, "then"), value);
}

static int load(void **state)
{
	json_error_t error;
	root = json_load_file("docs/description.schema.json", 0, &error);
	(void)state;
	return root ? 0 : -1;
}

static int unload(void **state)
{
	(void)state;
	json_decref((json_t *)(uintptr_t)root);
	return 0;
}

static void what_is_written_is_valid(void **state)
{
	static const char *const files[] = {"tests/data/icelake.json", "tests/data/zen4.json", "tests/data/genoa.json"};
	(void)state;
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		struct xr_error err;
		struct xr_description *d = xr_description_read(files[i], &err);
		assert_non_null(d);
		json_t *json = xr_description_to_json(d);
		if (!valid(root, json))
			fail_msg("%s: %s", files[i], why);
		json_decref(json);
		xr_description_free(d);
	}
}

static void what_cannot_be_read_is_not_valid(void **state)
{
	static const char *const texts[] = {
		"[]",
		"{\"facts\": {}}",
		"{\"schema\": 2, \"facts\": {}}",
		"{\"schema\": 1, \"facts\": {\"a\": {\"status\": \"fine\"}}}",
		"{\"schema\": 1, \"facts\": {\"a\": {\"status\": \"ok\"}}}",
		"{\"schema\": 1, \"facts\": {\"a b\": {\"status\": \"failed\"}}}",
		"{\"schema\": 1, \"facts\": {\"a\": {\"status\": \"ok\", \"value\": 1, \"confidence\": 2}}}",
		"{\"schema\": 1, \"facts\": {\"a\": {\"status\": \"failed\", \"unit\": 3}}}",
		"{\"schema\": 1, \"facts\": {}, \"series\": {\"s\": {\"x\": {}}}}",
	};
	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct xr_error err;
		json_t *json = json_loads(texts[i], JSON_DECODE_ANY, NULL);
		if (valid(root, json))
			fail_msg("%s", texts[i]);
		assert_null(xr_description_parse(texts[i], strlen(texts[i]), "text", &err));
		json_decref(json);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_valid),
		cmocka_unit_test(what_cannot_be_read_is_not_valid),
	};
	return cmocka_run_group_tests(tests, load, unload);
}

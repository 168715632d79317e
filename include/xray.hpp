// SPDX-License-Identifier: MIT
// X-Ray for C++11: the same as xray.h, with owners that free and errors that are thrown.
//
//     xray::description d = xray::stored("/var/cache/my", {"cache.l1d", "cache.l2"});
//     double bytes = d.number("cache.l1d.capacity", 32768);
#ifndef XRAY_HPP
#define XRAY_HPP

#include <xray.h>

#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace xray {

struct error : std::runtime_error {
	explicit error(const xr_error &e) : std::runtime_error(e.text), code(e.code) {}
	xr_exit code;
};

class description {
public:
	explicit description(xr_description *d) : d_(d, xr_description_free) {}
	static description read(const std::string &path)
	{
		xr_error e;
		return owned(xr_description_read(path.c_str(), &e), e);
	}
	static description owned(xr_description *d, const xr_error &e)
	{
		if (!d)
			throw error(e);
		return description(d);
	}
	double number(const std::string &id, double otherwise) const
	{
		return xr_description_number(d_.get(), id.c_str(), otherwise);
	}
	const xr_fact *fact(const std::string &id) const { return xr_description_fact(d_.get(), id.c_str()); }
	std::string json() const
	{
		std::unique_ptr<char, void (*)(void *)> text(xr_description_text(d_.get()), std::free);
		return text ? text.get() : "";
	}
	xr_description *get() const { return d_.get(); }

private:
	std::unique_ptr<xr_description, void (*)(xr_description *)> d_;
};

namespace detail {
struct plan {
	explicit plan(const std::vector<std::string> &select) : p()
	{
		for (const std::string &s : select)
			words.push_back(s.c_str());
		p.select = words.data();
		p.n_select = words.size();
	}
	std::vector<const char *> words;
	xr_plan p;
};
} // namespace detail

class session {
public:
	explicit session(const xr_options *options = nullptr) : s_(nullptr, xr_session_free)
	{
		xr_error e;
		s_.reset(xr_session_open(options, &e));
		if (!s_)
			throw error(e);
	}
	description measure(const std::vector<std::string> &select = {}, bool quick = false)
	{
		xr_error e;
		detail::plan plan(select);
		plan.p.quick = quick;
		return description::owned(xr_session_measure(s_.get(), &plan.p, nullptr, &e), e);
	}

private:
	std::unique_ptr<xr_session, void (*)(xr_session *)> s_;
};

inline description stored(const std::string &directory, const std::vector<std::string> &select = {},
                          double max_age_s = 0, const xr_options *options = nullptr)
{
	xr_error e;
	detail::plan plan(select);
	return description::owned(xr_description_stored(directory.c_str(), max_age_s, options, &plan.p, &e), e);
}

} // namespace xray

#endif

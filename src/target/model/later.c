#include "target/model/model.h"
void xr_model_prepare_walk(struct xr_model *model, struct xr_job *job, struct xr_reading *out)
{
	(void)job;
	xr_model_refuse(model, out, XR_READ_UNSUPPORTED, "the model has no walks yet");
}
void xr_model_prepare_team(struct xr_model *model, struct xr_job *job, struct xr_reading *out)
{
	(void)job;
	xr_model_refuse(model, out, XR_READ_UNSUPPORTED, "the model has no teams yet");
}
